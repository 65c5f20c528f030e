"""What Mattermost exports, or its importer reads, as a `Source`: JSON Lines, and files beside them.

What stands in the lines is in `shapes`, reading them in `lines`.  `contents` knows what all of them say
together, `people` and `rooms` who sees what here, and `export` tells the rest, a post at a time.
"""
