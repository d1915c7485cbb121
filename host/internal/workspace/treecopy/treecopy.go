// Package treecopy copies directories with everything in them.
//
// Guarantees:
//   - A copy has all that the directory has: also what no snapshot has, such as repositories, pipes and files that a project excludes.
//     Contents, holes, modes, owners, extended attributes, links and times of changes are equal. Names of one file stay that.
//   - What cannot be copied is an error. The original is only read.
//   - Nothing outside of the directories is read or written, whatever links in them name.
//
// It imports only packages attrs and extents.
package treecopy

import "errors"

// errChanged is the error for a file that is another one than before, or has another size.
var errChanged = errors.New("it changed while it was copied")
