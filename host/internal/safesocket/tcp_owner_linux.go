package safesocket

import (
	"bufio"
	"encoding/binary"
	"encoding/hex"
	"net"
	"net/netip"
	"os"
	"strconv"
	"strings"
)

// tcpOwner returns the user of the other end of a local connection, from the kernel's socket tables (proc_net_tcp).
// Known is false when the tables do not list it.
func tcpOwner(conn net.Conn) (uid int, known bool) {
	theirs, ok1 := conn.RemoteAddr().(*net.TCPAddr)
	ours, ok2 := conn.LocalAddr().(*net.TCPAddr)
	if !ok1 || !ok2 {
		return 0, false
	}
	for _, table := range []string{"/proc/net/tcp", "/proc/net/tcp6"} {
		if uid, known := ownerIn(table, theirs.AddrPort(), ours.AddrPort()); known {
			return uid, true
		}
	}
	return 0, false
}

// ownerIn looks up the socket with these local and remote addresses.
func ownerIn(table string, local, remote netip.AddrPort) (uid int, known bool) {
	f, err := os.Open(table)
	if err != nil {
		return 0, false
	}
	defer func() { _ = f.Close() }()
	for lines := bufio.NewScanner(f); lines.Scan(); {
		fields := strings.Fields(lines.Text())
		if len(fields) < 8 || tableAddress(fields[1]) != unmapped(local) || tableAddress(fields[2]) != unmapped(remote) {
			continue
		}
		if uid, err := strconv.Atoi(fields[7]); err == nil {
			return uid, true
		}
	}
	return 0, false
}

func unmapped(a netip.AddrPort) netip.AddrPort {
	return netip.AddrPortFrom(a.Addr().Unmap(), a.Port())
}

// tableAddress reads an address as the kernel writes it: words in the machine's order, in hexadecimal.
func tableAddress(s string) netip.AddrPort {
	address, port, _ := strings.Cut(s, ":")
	raw, err := hex.DecodeString(address)
	n, err2 := strconv.ParseUint(port, 16, 16)
	if err != nil || err2 != nil || len(raw)%4 != 0 {
		return netip.AddrPort{}
	}
	for i := 0; i < len(raw); i += 4 {
		binary.NativeEndian.PutUint32(raw[i:], binary.BigEndian.Uint32(raw[i:]))
	}
	a, ok := netip.AddrFromSlice(raw)
	if !ok {
		return netip.AddrPort{}
	}
	return netip.AddrPortFrom(a.Unmap(), uint16(n))
}
