package tree

// Dirty are the paths that may have changed: directories, each with names in it, or with nil for all names.
type Dirty map[string]map[string]bool

// Path notes that a path may have changed.
func (d Dirty) Path(path string) { d.Add(Parent(path), Base(path)) }

// Add notes that a name in a directory may have changed. The root, which has no name, is scanned with all names in it.
func (d Dirty) Add(dir, name string) {
	if name == "" {
		d.AddAll(dir)
		return
	}
	names, known := d[dir]
	if known && names == nil {
		return
	}
	if names == nil {
		names = map[string]bool{}
		d[dir] = names
	}
	names[name] = true
}

// AddAll notes that any name in a directory may have changed.
func (d Dirty) AddAll(dir string) { d[dir] = nil }

// AddDirty adds other paths.
func (d Dirty) AddDirty(more Dirty) {
	for dir, names := range more {
		if names == nil {
			d.AddAll(dir)
		}
		for name := range names {
			d.Add(dir, name)
		}
	}
}

// With returns paths that also have others. A nil d has none.
func (d Dirty) With(paths []string) Dirty {
	if d == nil {
		d = Dirty{}
	}
	for _, path := range paths {
		d.Path(path)
	}
	return d
}
