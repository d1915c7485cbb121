package installer

import "os"

// profileManifests reports whether browsers read native hosts from the user data directory.
const profileManifests = false

func isProgram(info os.FileInfo) bool { return info.Mode().IsRegular() }
