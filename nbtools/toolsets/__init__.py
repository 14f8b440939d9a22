"""Tools from elsewhere, each kind in modules of its own that are imported only when it is used."""
