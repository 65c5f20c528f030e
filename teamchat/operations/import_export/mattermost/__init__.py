"""What Mattermost exports, or its importer reads, as a `Source`: JSON Lines, and files beside them.

`shapes` says what is in the lines, and `lines` reads them. `contents` knows what all of them say together,
`people` and `rooms` decide who sees what here, and `export` converts the rest, one post at a time.
"""
