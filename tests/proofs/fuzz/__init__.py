"""Every public name called with awkward and with spoiled input."""
