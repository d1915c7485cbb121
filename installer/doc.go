// Package installer installs Tidemark where browsers and agents find it. It writes native-messaging manifests (and
// registry keys on Windows) that let the extension reach the host, entries in the settings of coding agents, and the
// unpacked extension. It also finds the browsers of this machine and checks the installation.
//
// Guarantees:
//   - A file or directory that it writes is complete or does not exist.
//   - Repeating an operation changes nothing.
//   - A change is planned as a [Step] first, so that it can be shown. It is made only if the file is still the one shown.
//   - The rest of a settings file stays unchanged, byte for byte (package settings).
//   - Every write is recorded before it is made. [System.PlanRemoval] undoes what the record holds and nothing else, and
//     leaves later changes untouched. [System.PlanUnrecorded] finds Tidemark's entries when the record is lost.
//   - The package imports nothing from the host, so that every command and other tools can use it.
package installer
