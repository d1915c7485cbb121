package report

// MaxFiles bounds the entries of the section of files.
const MaxFiles = 20

// FilesDiff lists files of workspaces that differ at the two moments.
type FilesDiff struct {
	// Changed has at most [MaxFiles] entries. Directories stand for their files where more changed.
	Changed []ChangedFile `json:"changed,omitempty"`
	// TotalChanged counts the files, Omitted those that no entry stands for.
	TotalChanged int `json:"total_changed,omitempty"`
	Omitted      int `json:"omitted,omitempty"`
}

// ChangedFile is a file that changed, or a directory that stands for several.
type ChangedFile struct {
	// Path is relative to the workspace. A directory's ends in "/".
	Path string `json:"path"`
	// Change is added, modified, removed or renamed. A directory whose files changed in different ways is modified.
	Change string `json:"change"`
	// From is the path that a renamed file had before.
	From string `json:"from,omitempty"`
	// Added and Removed count lines. They are nil where the lines are not known.
	Added   *int `json:"added,omitempty"`
	Removed *int `json:"removed,omitempty"`
	// Count is the number of changes of the file that Added and Removed are the sum of, where there are several.
	Count int `json:"count,omitempty"`
	// Binary is true for a file without lines.
	Binary bool `json:"binary,omitempty"`
	// Files counts the files that a directory stands for.
	Files int `json:"files,omitempty"`
	// By names what made the change: the agent's call, "one of" several where that is not known, or what the snapshot was taken
	// after. Prompt is the beginning of the prompt behind the newest call, "" where the conversation is not recorded.
	By     string `json:"by,omitempty"`
	Prompt string `json:"prompt,omitempty"`
	// Workspace is the workspace's path, where the report covers several.
	Workspace string `json:"workspace,omitempty"`
	Ref       *Ref   `json:"-"`
}

func (d *FilesDiff) filter(bool) int { return dropAll(&d.Changed) }

// quotes reports true for any file: names are the repository's, as a page's text is the page's.
func (d *FilesDiff) quotes() bool { return len(d.Changed) > 0 }

func (d *FilesDiff) omitted() int { return d.Omitted }

// Empty reports whether nothing happened.
func (d *FilesDiff) Empty() bool { return d.TotalChanged == 0 }
