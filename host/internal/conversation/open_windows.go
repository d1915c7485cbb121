package conversation

// nonblock is nothing: Windows opens no pipe by a path of files.
const nonblock = 0
