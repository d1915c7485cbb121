// Sender is what `tidemark hook` is measured beside: it sends the bytes of its standard input to a socket, waits for the whole
// HTTP answer, and ends.
//
//	sender SOCKET <REQUEST
package main

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"strconv"
	"strings"
)

func main() {
	if err := send(os.Args[1], os.Stdin); err != nil {
		fmt.Fprintln(os.Stderr, "sender:", err)
		os.Exit(1)
	}
}

func send(socket string, request io.Reader) error {
	conn, err := net.Dial("unix", socket)
	if err != nil {
		return err
	}
	defer func() { _ = conn.Close() }()
	if _, err := io.Copy(conn, request); err != nil {
		return err
	}
	answer := bufio.NewReader(conn)
	for {
		status, length, err := readHead(answer)
		switch {
		case err != nil:
			return err
		case strings.HasPrefix(status, "HTTP/1.1 1"): // the answer follows
			continue
		case !strings.HasPrefix(status, "HTTP/1.1 2"):
			return errors.New(status)
		}
		if length >= 0 {
			_, err = io.CopyN(io.Discard, answer, length)
			return err
		}
		return readChunks(answer)
	}
}

// readChunks reads the body of an answer that comes in chunks.
func readChunks(r *bufio.Reader) error {
	for {
		line, err := r.ReadString('\n')
		if err != nil {
			return err
		}
		size, err := strconv.ParseInt(strings.TrimSpace(line), 16, 64)
		if err != nil || size == 0 {
			return err
		}
		if _, err := io.CopyN(io.Discard, r, size+2); err != nil {
			return err
		}
	}
}

// readHead reads the head of an answer, and returns its first line and how many bytes follow, -1 for
// chunks.
func readHead(r *bufio.Reader) (status string, length int64, err error) {
	for {
		line, err := r.ReadString('\n')
		if err != nil {
			return "", 0, err
		}
		line = strings.TrimRight(line, "\r\n")
		name, value, _ := strings.Cut(line, ":")
		switch {
		case line == "":
			return status, length, nil
		case status == "":
			status = line
		case strings.EqualFold(name, "Content-Length"):
			if length, err = strconv.ParseInt(strings.TrimSpace(value), 10, 64); err != nil {
				return "", 0, err
			}
		case strings.EqualFold(name, "Transfer-Encoding"):
			length = -1
		}
	}
}
