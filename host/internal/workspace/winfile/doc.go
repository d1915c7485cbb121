// Package winfile opens and describes files of Windows by open directories, for packages that read and write a workspace.
//
// Guarantees:
//   - A name is resolved in an open directory, whatever becomes of its path. Symbolic links and junctions are opened
//     themselves, never what they point to.
//   - Paths may be of any length, and names may have unpaired surrogates (as WTF-8).
//   - No other program is kept from reading, writing, renaming or deleting what is open.
package winfile
