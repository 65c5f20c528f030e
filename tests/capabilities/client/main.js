// A part of the web client that does nothing.
