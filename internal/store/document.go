package store

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"sync"

	"github.com/klauspost/compress/flate"

	"muster/internal/fleet"
	"muster/internal/memlimit"
)

// Document is a configuration as it is kept, packed.
type Document struct {
	device fleet.DeviceID
	packed []byte
}

// Open reads the configuration from its beginning, with its secrets.
func (d Document) Open() io.Reader { return flate.NewReader(bytes.NewReader(d.packed)) }

// NewestDocument is Revision for the configuration that the device was last seen with, and as a Document.
func (s *Store) NewestDocument(ctx context.Context, id fleet.DeviceID) (fleet.Revision, Document, error) {
	if _, err := s.registered(id); err != nil {
		return fleet.Revision{}, Document{}, err
	}
	return s.document(ctx, id, selectDocuments+` ORDER BY r.number DESC LIMIT 1`, string(id))
}

// RevisionDocument is Revision with a Document instead of the text, which may be large.
func (s *Store) RevisionDocument(
	ctx context.Context, id fleet.DeviceID, number int64,
) (fleet.Revision, Document, error) {
	if _, err := s.registered(id); err != nil {
		return fleet.Revision{}, Document{}, err
	}
	return s.document(ctx, id, selectDocuments+` AND r.number = $2`, string(id), number)
}

// smallDocument is how many bytes of a configuration take no part of the memory for large ones.
const smallDocument = 64 << 10

// takeLarge asks for the memory of something that is not small.
func takeLarge(ctx context.Context, bytes int) error {
	if bytes <= smallDocument {
		return nil
	}
	return memlimit.Take(ctx, int64(bytes))
}

// unpackers are kept: making one costs more than unpacking a usual configuration.
var unpackers = sync.Pool{New: func() any { return flate.NewReader(nil) }}

// read is the whole text. A large one is unpacked twice: its memory is asked for once its size is known.
func (d Document) read(ctx context.Context) ([]byte, error) {
	r := unpackers.Get().(io.Reader)
	defer unpackers.Put(r)
	start, err := d.unpack(r, smallDocument+1)
	if err != nil || len(start) <= smallDocument {
		return start, err
	}
	rest, err := io.Copy(io.Discard, r)
	if err != nil {
		return nil, d.broken(err)
	}
	size := int64(len(start)) + rest
	if err := memlimit.Take(ctx, size); err != nil {
		return nil, err
	}
	if err := d.reset(r); err != nil {
		return nil, err
	}
	whole := make([]byte, size)
	if _, err := io.ReadFull(r, whole); err != nil {
		return nil, d.broken(err)
	}
	return whole, nil
}

// unpack gives the beginning of the text.
func (d Document) unpack(r io.Reader, most int64) ([]byte, error) {
	if err := d.reset(r); err != nil {
		return nil, err
	}
	const usual = 5 // times as long as packed
	var start bytes.Buffer
	start.Grow(int(min(usual*int64(len(d.packed))+bytes.MinRead, most)))
	if _, err := start.ReadFrom(io.LimitReader(r, most)); err != nil {
		return nil, d.broken(err)
	}
	return start.Bytes(), nil
}

func (d Document) reset(r io.Reader) error {
	if err := r.(flate.Resetter).Reset(bytes.NewReader(d.packed), nil); err != nil {
		return d.broken(err)
	}
	return nil
}

func (d Document) broken(err error) error {
	return fmt.Errorf("unpack configuration of %s: %w", d.device, err)
}
