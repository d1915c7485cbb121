// Package installer puts Tidemark where browsers and agents find it: native-messaging manifests (and registry keys on
// Windows) that let the extension reach the host, entries in the settings of coding agents, and the unpacked extension.
// It also finds the browsers of this machine, and checks what it wrote.
//
// Guarantees: a file or directory that it writes is either there whole or not there at all; doing the same twice changes
// nothing. A change is planned as a [Step] first, so that it can be shown, and made only where the file is still what was
// shown. What else is in a settings file stays byte for byte (package settings). What is written is recorded before it
// is, and [System.PlanRemoval] takes back what the record holds and nothing else; what others changed since is left to
// them. [System.PlanUnrecorded] finds what is plainly Tidemark's where the record is lost. It imports nothing of the
// host, so that every command, and other tools, can use it.
package installer
