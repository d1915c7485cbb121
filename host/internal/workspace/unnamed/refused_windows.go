package unnamed

import (
	"errors"

	"golang.org/x/sys/windows"
)

// Refused reports whether a path cannot be created because of its name, beside those that package winname knows.
func Refused(err error) bool { return errors.Is(err, windows.ERROR_INVALID_NAME) }
