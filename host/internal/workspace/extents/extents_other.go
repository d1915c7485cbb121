//go:build !linux && !darwin

package extents

import "os"

func clone(*os.Root, string, *os.File) (*os.File, error) { return nil, ErrUnsupported }

func copied(*os.Root, string, *os.File) (*os.File, error) { return nil, ErrUnsupported }

func open(path string) (*os.File, error) { return os.Open(path) }

func sameFilesystem(string, *os.File) (bool, error) { return true, nil }
