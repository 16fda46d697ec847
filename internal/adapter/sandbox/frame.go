package sandbox

import (
	"bufio"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"strings"
)

// A frame is four bytes of length, one byte that says what it is, and the body. The bound on the length is the
// reader's: a worker that a program got hold of must not make the server allocate what it likes.
type kind byte

const (
	kindHello    kind = 'h' // limits -> nothing
	kindCompile  kind = 'c' // number and text of a program -> what it is
	kindForget   kind = 'x' // drop all programs
	kindFleet    kind = 'f' // facts of all devices
	kindSecrets  kind = 's' // names of the secrets
	kindEvaluate kind = 'e' // devices and configurations -> a result for each, in their order
	kindResult   kind = 'r'
	kindError    kind = '!' // instead of a result
)

const frameHeader = 5

func writeFrame(w io.Writer, k kind, body []byte) error {
	header := binary.BigEndian.AppendUint32(make([]byte, 0, frameHeader), uint32(len(body)))
	if _, err := w.Write(append(header, byte(k))); err != nil {
		return err
	}
	_, err := w.Write(body)
	return err
}

// readFrame reads one frame. The body is a string, of which what is decoded can be parts; it grows as bytes come in,
// and never beyond most.
func readFrame(r *bufio.Reader, most int) (kind, string, error) {
	return readAdmitted(r, most, func(int) error { return nil })
}

// readAdmitted is readFrame that asks before it reads the body.
func readAdmitted(r *bufio.Reader, most int, admit func(size int) error) (kind, string, error) {
	var header [frameHeader]byte
	if _, err := io.ReadFull(r, header[:]); err != nil {
		return 0, "", err
	}
	size := int(binary.BigEndian.Uint32(header[:4]))
	if size > most {
		return 0, "", fmt.Errorf("a frame of %d bytes, more than the %d allowed", size, most)
	}
	if err := admit(size); err != nil {
		return 0, "", &refusal{err}
	}
	var body strings.Builder
	body.Grow(min(size, growAtOnce))
	if n, err := io.CopyN(&body, r, int64(size)); err != nil {
		if n < int64(size) && errors.Is(err, io.EOF) {
			err = io.ErrUnexpectedEOF
		}
		return 0, "", err
	}
	return kind(header[4]), body.String(), nil
}

// growAtOnce is how much memory a frame gets on its word.
const growAtOnce = 4 << 20

// refusal is an answer of a worker that was not taken: there is no memory for it.
type refusal struct{ err error }

func (r *refusal) Error() string { return r.err.Error() }
