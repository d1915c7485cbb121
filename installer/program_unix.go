//go:build !windows

package installer

import "os"

// profileManifests reports whether browsers read native hosts from the user data directory.
const profileManifests = true

func isProgram(info os.FileInfo) bool { return info.Mode().IsRegular() && info.Mode()&0o111 != 0 }
