package discovery

import (
	"encoding/binary"
	"errors"

	"muster/internal/fleet"
)

// magic is the beginning of every local announcement since 0.14 (Syncthing: lib/discover/local.go, Magic).
const magic = 0x2EA7D90B

var errNoAnnouncement = errors.New("not a local announcement")

// parseAnnouncement reads the packet by which a daemon announces itself: four bytes of magic, then a protobuf message
// with the device ID as 32 bytes (field 1), any number of addresses (field 2) and a number of the daemon's run (field
// 3, not needed). Other fields are skipped. Source: Syncthing's lib/discover/local.proto.
func parseAnnouncement(packet []byte) (id fleet.DeviceID, addresses []string, err error) {
	if len(packet) < 4 || binary.BigEndian.Uint32(packet) != magic {
		return "", nil, errNoAnnouncement
	}
	for rest := packet[4:]; len(rest) > 0; {
		var number uint64
		var content []byte
		if number, content, rest, err = field(rest); err != nil {
			return "", nil, err
		}
		switch {
		case number == 1 && len(content) == 32:
			id = fleet.DeviceIDOf([32]byte(content))
		case number == 1:
			return "", nil, errNoAnnouncement
		case number == 2 && len(addresses) < maxAddresses:
			addresses = append(addresses, string(content[:min(len(content), maxAddressBytes+1)]))
		}
	}
	if id == "" {
		return "", nil, errNoAnnouncement
	}
	return id, addresses, nil
}

// The wire types of protobuf.
const (
	wireVarint = 0
	wire64     = 1
	wireBytes  = 2
	wire32     = 5
)

// field takes the first field off a protobuf message. content is nil unless the field is one of bytes.
func field(message []byte) (number uint64, content, rest []byte, err error) {
	tag, n := binary.Uvarint(message)
	if n <= 0 || tag>>3 == 0 {
		return 0, nil, nil, errNoAnnouncement
	}
	number, rest = tag>>3, message[n:]
	length := uint64(0)
	switch tag & 7 {
	case wireVarint:
		_, n := binary.Uvarint(rest)
		length = uint64(max(n, 0))
		if n <= 0 {
			return 0, nil, nil, errNoAnnouncement
		}
	case wire64:
		length = 8
	case wire32:
		length = 4
	case wireBytes:
		var n int
		if length, n = binary.Uvarint(rest); n <= 0 {
			return 0, nil, nil, errNoAnnouncement
		}
		rest = rest[n:]
		if length > uint64(len(rest)) {
			return 0, nil, nil, errNoAnnouncement
		}
		return number, rest[:length:length], rest[length:], nil
	default:
		return 0, nil, nil, errNoAnnouncement
	}
	if length > uint64(len(rest)) {
		return 0, nil, nil, errNoAnnouncement
	}
	if number <= 2 { // Both are fields of bytes.
		return 0, nil, nil, errNoAnnouncement
	}
	return number, nil, rest[length:], nil
}
