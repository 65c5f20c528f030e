"""Everything people said, out of an installation and into one, in a form that other programs can read.

`docs/reference/export-format.md` describes the form.  What another program wrote (`slack`, `mattermost`) is
brought into it record by record, and goes in by the same door (`importing`).
"""
