// Package retention tells how old things are, whatever the system's clock is set to ([Clock]). It deletes files that are too
// old, and the oldest ones of those that take too much.
package retention

import (
	"cmp"
	"errors"
	"math"
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

// noLimit is the limit of ages that only order files.
const noLimit = math.MaxInt64

// Prune deletes the files that are older than the policy's age, and then the oldest until the others are within its size.
// Remove deletes a file, and returns false for one that is in use or no longer exists. After an error, Prune continues
// with the other files, and returns all errors at the end.
func Prune(age Age, p Policy, files []File, remove func(id string) (bool, error)) (Pruned, error) {
	type aged struct {
		File
		age time.Duration
	}
	all := make([]aged, len(files))
	var total int64
	for i, f := range files {
		all[i] = aged{f, age(f.Written, cmp.Or(max(0, p.Age), noLimit))}
		total += f.Bytes
	}
	slices.SortStableFunc(all, func(a, b aged) int { return cmp.Or(cmp.Compare(b.age, a.age), a.Written.Compare(b.Written)) })
	var done Pruned
	var failed error
	for _, f := range all {
		if (p.Age <= 0 || f.age <= p.Age) && (p.Bytes <= 0 || total <= p.Bytes) {
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
