package sink

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
)

const (
	fileLimit = 100 << 20 // bytes at which a file is put aside
	fileKeeps = 5         // files that were put aside
)

// file appends JSON lines to a file, and puts it aside when it is large.
type file struct {
	path  string
	limit int64
	open  *os.File // nil: not open
}

func (f *file) send(_ context.Context, records []record) ([]refusal, error) {
	if err := f.ready(); err != nil {
		return nil, err
	}
	if _, err := f.open.Write(jsonLines(records)); err != nil {
		f.close() // ready cuts off what was written of it
		return nil, err
	}
	if err := f.open.Sync(); err != nil {
		f.close()
		return nil, err
	}
	return nil, nil
}

// ready opens the file. A line that a crash or a full disk cut off is removed, since its batch is sent again. A file
// that somebody else moved away, as log rotation does, is made anew.
func (f *file) ready() error {
	if f.open != nil {
		here, err := os.Stat(f.path)
		is, openErr := f.open.Stat()
		if err != nil || openErr != nil || !os.SameFile(here, is) {
			f.close()
		} else if is.Size() >= f.limit {
			f.close()
			if err := f.putAside(); err != nil {
				return err
			}
		}
	}
	if f.open != nil {
		return nil
	}
	if err := os.MkdirAll(filepath.Dir(f.path), 0o700); err != nil {
		return err
	}
	opened, err := os.OpenFile(f.path, os.O_RDWR|os.O_CREATE|os.O_APPEND, 0o600)
	if err != nil {
		return err
	}
	if err := cutLastLine(opened); err != nil {
		return errors.Join(err, opened.Close())
	}
	f.open = opened
	return nil
}

// cutLastLine removes what follows the last end of a line.
func cutLastLine(of *os.File) error {
	info, err := of.Stat()
	if err != nil {
		return err
	}
	const step = 64 << 10
	for end := info.Size(); end > 0; {
		from := max(0, end-step)
		text := make([]byte, end-from)
		if _, err := of.ReadAt(text, from); err != nil && !errors.Is(err, io.EOF) {
			return err
		}
		if at := bytes.LastIndexByte(text, '\n'); at >= 0 {
			return of.Truncate(from + int64(at) + 1)
		}
		end = from
	}
	return of.Truncate(0)
}

// putAside gives the file the ending .1, what had it .2, and so on. The oldest goes.
func (f *file) putAside() error {
	for i := fileKeeps - 1; i >= 1; i-- {
		err := os.Rename(fmt.Sprint(f.path, ".", i), fmt.Sprint(f.path, ".", i+1))
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
	}
	return os.Rename(f.path, f.path+".1")
}

func (f *file) close() {
	if f.open != nil {
		_ = f.open.Close()
		f.open = nil
	}
}
