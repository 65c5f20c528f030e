"""Everything people said, out of an installation and into one, in a form that other programs can read.

`docs/reference/export-format.md` describes the form. What other programs wrote (`slack`, `mattermost`) is
converted to it record by record, and imported in the same way (`importing`).
"""
