package safefile

// nonblock is not needed: opening a pipe or a device does not wait here.
const nonblock = 0
