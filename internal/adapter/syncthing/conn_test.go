package syncthing

import (
	"bytes"
	"encoding/binary"
	"io"
	"net"
	"testing"
)

func tlsRecord(length int) []byte {
	record := make([]byte, 5+length)
	record[0] = 23
	binary.BigEndian.PutUint16(record[3:], uint16(length))
	return record
}

// A read that went beyond its record made crypto/tls double a buffer that it keeps for the life of the connection.
func TestAReadEndsWithItsTLSRecord(t *testing.T) {
	near, far := net.Pipe()
	defer near.Close()
	lengths := []int{0, 1, 100, 16_384}
	go func() {
		defer far.Close()
		var all []byte
		for _, length := range lengths {
			all = append(all, tlsRecord(length)...)
		}
		_, _ = io.Copy(far, bytes.NewReader(all))
	}()
	reader := &recordReader{Conn: near}
	for _, length := range lengths {
		got := make([]byte, 0, 32<<10)
		for len(got) < 5+length {
			n, err := reader.Read(got[len(got):cap(got)])
			if err != nil {
				t.Fatal(err)
			}
			got = got[:len(got)+n]
		}
		if !bytes.Equal(got, tlsRecord(length)) {
			t.Errorf("a record of %d bytes: %d bytes were read", length, len(got)-5)
		}
	}
}
