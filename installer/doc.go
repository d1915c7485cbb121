// Package installer puts Tidemark where browsers find it: the native-messaging manifest that lets
// the extension reach the host, and the unpacked extension itself. It also finds the browsers of
// this machine.
//
// Guarantees: a file or directory that it writes is either there whole or not there at all; doing
// the same twice changes nothing; nothing is written outside the directories that were named. It
// imports nothing of the host, so that every command, and other tools, can use it.
package installer
