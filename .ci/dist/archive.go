package main

import (
	"archive/tar"
	"archive/zip"
	"bytes"
	"compress/flate"
	"compress/gzip"
	"crypto/sha256"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// archive writes the program and the papers for one system: a zip for Windows, else a tar.gz.
func (r *release) archive(t target) error {
	name := fmt.Sprintf("tidemark_%s_%s_%s", r.version, t.os, t.arch)
	files := []file{{name + "/tidemark" + t.suffix(), 0o755, t.program}}
	for _, paper := range r.papers {
		paper.name = name + "/" + paper.name
		files = append(files, paper)
	}
	if t.os == "windows" {
		return r.write(name+".zip", r.zip(files))
	}
	return r.write(name+".tar.gz", r.tarGz(files))
}

// writer writes a file's content, or says why it cannot.
type writer func(io.Writer) error

// tarGz and zip write entries by name, owned by root, of the release's time.
func (r *release) tarGz(files []file) writer {
	return func(w io.Writer) error {
		packed, err := gzip.NewWriterLevel(w, gzip.BestCompression)
		if err != nil {
			return err
		}
		archive := tar.NewWriter(packed)
		for _, f := range sorted(files) {
			header := &tar.Header{Name: f.name, Mode: int64(f.mode), Size: int64(len(f.data)), ModTime: r.when, Uname: "root", Gname: "root", Format: tar.FormatUSTAR}
			if err := archive.WriteHeader(header); err != nil {
				return err
			}
			if _, err := archive.Write(f.data); err != nil {
				return err
			}
		}
		if err := archive.Close(); err != nil {
			return err
		}
		return packed.Close()
	}
}

func (r *release) zip(files []file) writer {
	return func(w io.Writer) error {
		archive := zip.NewWriter(w)
		archive.RegisterCompressor(zip.Deflate, func(w io.Writer) (io.WriteCloser, error) { return flate.NewWriter(w, flate.BestCompression) })
		for _, f := range sorted(files) {
			header := &zip.FileHeader{Name: f.name, Method: zip.Deflate, Modified: r.when}
			header.SetMode(f.mode)
			entry, err := archive.CreateHeader(header)
			if err != nil {
				return err
			}
			if _, err := entry.Write(f.data); err != nil {
				return err
			}
		}
		return archive.Close()
	}
}

func sorted(files []file) []file {
	return slices.SortedFunc(slices.Values(files), func(a, b file) int { return strings.Compare(a.name, b.name) })
}

// write makes one file of the release.
func (r *release) write(name string, content writer) error {
	var buffer bytes.Buffer
	if err := content(&buffer); err != nil {
		return fmt.Errorf("%s: %w", name, err)
	}
	return os.WriteFile(filepath.Join(r.out, name), buffer.Bytes(), 0o644)
}

// checksums writes SHA256SUMS, which `sha256sum --check` reads.
func (r *release) checksums() error {
	entries, err := os.ReadDir(r.out) // by name
	if err != nil {
		return err
	}
	var sums bytes.Buffer
	for _, entry := range entries {
		data, err := os.ReadFile(filepath.Join(r.out, entry.Name()))
		if err != nil {
			return err
		}
		fmt.Fprintf(&sums, "%x  %s\n", sha256.Sum256(data), entry.Name())
	}
	return os.WriteFile(filepath.Join(r.out, "SHA256SUMS"), sums.Bytes(), 0o644)
}
