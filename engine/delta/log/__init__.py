"""The files of `_delta_log`: where they lie, how they are listed, read and put."""
