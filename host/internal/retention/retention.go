// Package retention deletes files that are too old, and the oldest ones of those that take too much (pure).
package retention

import (
	"errors"
	"slices"
	"time"
)

// Policy bounds the files that are kept. A field that is 0 bounds nothing.
type Policy struct {
	// Age is the time since a file was last written.
	Age time.Duration
	// Bytes is what all files may take.
	Bytes int64
}

// File is a file that may be deleted.
type File struct {
	ID    string
	Bytes int64
	// Written is when it was last written.
	Written time.Time
}

// Pruned is what a deletion did.
type Pruned struct {
	// Deleted are the IDs of the deleted files, the oldest first.
	Deleted []string
	// Freed is what they took, in bytes.
	Freed int64
}

// Prune deletes the files that were last written before the policy's age, and then the oldest until the others are within its
// size. Remove deletes a file, and returns false for one that is in use or no longer exists. After an error, Prune continues
// with the other files, and returns all errors at the end.
func Prune(now time.Time, p Policy, files []File, remove func(id string) (bool, error)) (Pruned, error) {
	files = slices.Clone(files)
	slices.SortStableFunc(files, func(a, b File) int { return a.Written.Compare(b.Written) })
	var total int64
	for _, f := range files {
		total += f.Bytes
	}
	var done Pruned
	var failed error
	for _, f := range files {
		if (p.Age <= 0 || now.Sub(f.Written) <= p.Age) && (p.Bytes <= 0 || total <= p.Bytes) {
			continue
		}
		deleted, err := remove(f.ID)
		failed = errors.Join(failed, err)
		if err != nil || !deleted {
			continue
		}
		done.Deleted, done.Freed, total = append(done.Deleted, f.ID), done.Freed+f.Bytes, total-f.Bytes
	}
	return done, failed
}
