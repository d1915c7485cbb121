package btrfs

// MaxKept is how many snapshots of the filesystem are kept.
const MaxKept = maxKept
