package httpapi

import (
	"bufio"
	"bytes"
	"crypto/sha256"
	"io"
	"time"
)

// Document writes a JSON document that may be large, the same one each time.
type Document func(io.Writer) error

const (
	streamBuffer = 64 << 10
	// heldTime is how long a client may take for a whole answer while the memory for large work is held for it.
	heldTime = 2 * time.Minute
)

// showStream is an answer that is never held as a whole. The document is written twice: for the ETag and the length,
// and to the client.
func showStream(document Document) (reply, error) {
	sum, length := sha256.New(), counter(0)
	if err := document.buffered(io.MultiWriter(sum, &length)); err != nil {
		return reply{}, err
	}
	return reply{document: document, length: int64(length), etag: etagFrom(sum.Sum(nil))}, nil
}

func (d Document) buffered(w io.Writer) error {
	out := bufio.NewWriterSize(w, streamBuffer)
	if err := d(out); err != nil {
		return err
	}
	return out.Flush()
}

// counter counts what is written.
type counter int64

func (c *counter) Write(p []byte) (int, error) {
	*c += counter(len(p))
	return len(p), nil
}

// withMember is an object with one more member, which may be large.
func withMember(object any, name string, member Document) Document {
	return func(w io.Writer) error {
		text, err := encode(object)
		if err != nil {
			return err
		}
		text = append(bytes.TrimSuffix(text, []byte("}\n")), `,"`+name+`":`...)
		if _, err := w.Write(text); err != nil {
			return err
		}
		if err := member(w); err != nil {
			return err
		}
		_, err = io.WriteString(w, "}\n")
		return err
	}
}

// oneByOne is a list that is encoded member by member.
func oneByOne[T, Wire any](members []T, wire func(T) Wire) Document {
	return func(w io.Writer) error {
		before := "["
		for _, member := range members {
			text, err := encode(wire(member))
			if err != nil {
				return err
			}
			if _, err := io.WriteString(w, before); err != nil {
				return err
			}
			if _, err := w.Write(bytes.TrimSuffix(text, []byte("\n"))); err != nil {
				return err
			}
			before = ","
		}
		if len(members) == 0 {
			_, err := io.WriteString(w, "[]")
			return err
		}
		_, err := io.WriteString(w, "]")
		return err
	}
}
