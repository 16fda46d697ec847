package backup

import (
	"bufio"
	"compress/gzip"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"
	"time"

	"filippo.io/age"

	"muster/internal/fleet"
)

// Source is what a backup is made of.
type Source struct {
	Muster string // version of the program
	Now    time.Time
	Lock   Lock
	// Dump gives the content of the database as of one moment.
	Dump func(Sink) error
	// Files gives the files of the home. It is asked after the moment is fixed that Dump gives.
	Files func() ([]File, error)
	// Check gives what judges the content of a backup that is read back.
	Check func(Content) (Sink, error)
	// Tell is told how far the backup is; nil: it is not.
	Tell func(Progress)
}

// Made is a backup that was written and read back.
type Made struct {
	Path      string
	Bytes     int64
	CreatedAt time.Time
}

const bufferBytes = 256 << 10

// Create writes a backup and reads it back. The file is there whole, or not at all; one that is there stays.
func Create(path string, source Source) (made Made, err error) {
	made = Made{Path: path, CreatedAt: source.Now}
	if _, err := os.Lstat(path); err == nil {
		return made, &fleet.Error{Code: fleet.CodeConflict, Message: path + " is there already",
			Hint: "Name a file that is not there yet: a backup replaces none."}
	}
	temp, err := os.CreateTemp(filepath.Dir(path), tempPrefix+"*") // mode 0600
	if err != nil {
		return made, unwritable(path, err)
	}
	defer func() {
		err = errors.Join(err, ignore(temp.Close(), fs.ErrClosed), ignore(os.Remove(temp.Name()), fs.ErrNotExist))
	}()
	identity, rows, err := source.write(temp)
	if err != nil {
		return made, unwritable(path, err)
	}
	if err := source.readBack(temp, identity, rows); err != nil {
		return made, err
	}
	info, err := temp.Stat()
	if err == nil {
		made.Bytes = info.Size()
		err = place(temp, path)
	}
	return made, unwritable(path, err)
}

// tempPrefix begins the names of files that are not whole yet.
const tempPrefix = ".muster-backup-"

// write writes the file, and counts the rows in it.
func (s Source) write(temp *os.File) (age.Identity, int, error) {
	buffer := bufio.NewWriterSize(temp, bufferBytes)
	encrypted, identity, err := s.Lock.encrypt(buffer)
	if err != nil {
		return nil, 0, err
	}
	packed, err := gzip.NewWriterLevel(encrypted, gzip.BestSpeed) // most of it is sealed, and gets no smaller
	if err != nil {
		return nil, 0, err
	}
	content := newWriter(packed, Content{Muster: s.Muster, CreatedAt: s.Now.UTC()}, s.Files)
	if err := s.Dump(s.counted(content, Progress{Step: StepWrite})); err != nil {
		return nil, 0, err
	}
	for _, end := range []func() error{content.close, packed.Close, encrypted.Close, buffer.Flush, temp.Sync} {
		if err := end(); err != nil {
			return nil, 0, err
		}
	}
	return identity, content.counts.Rows, nil
}

// readBack reads what lies in the file, from the beginning to the end.
func (s Source) readBack(temp *os.File, identity age.Identity, rows int) error {
	if _, err := temp.Seek(0, io.SeekStart); err != nil {
		return err
	}
	check := func(content Content) (Sink, error) {
		sink, err := s.Check(content)
		return s.counted(sink, Progress{Step: StepRead, Of: rows}), err
	}
	if _, err := read(temp, []age.Identity{identity}, check); err != nil {
		return fmt.Errorf("read the backup back: %w", err)
	}
	return nil
}

// place gives a file its name, which lasts.
func place(temp *os.File, path string) error {
	if err := temp.Close(); err != nil {
		return err
	}
	if err := os.Rename(temp.Name(), path); err != nil {
		return err
	}
	dir, err := os.Open(filepath.Dir(path))
	if err != nil {
		return err
	}
	return errors.Join(dir.Sync(), dir.Close())
}

// Read reads a backup from the beginning to the end. begin is called with what stands before the tables, and gives what
// takes them. What is taken counts only once Read has returned without an error.
func Read(path string, opener Opener, begin func(Content) (Sink, error)) (Content, error) {
	f, err := os.Open(path)
	if err != nil {
		return Content{}, &fleet.Error{Code: fleet.CodeInvalid, Message: "the backup cannot be read: " + err.Error(),
			Hint: "Look whether the file is there and the user that runs this command may read it.", Err: err}
	}
	defer func() { _ = f.Close() }()
	return read(f, opener.identities, begin)
}

func read(f io.Reader, identities []age.Identity, begin func(Content) (Sink, error)) (Content, error) {
	plain, err := age.Decrypt(bufio.NewReaderSize(f, bufferBytes), identities...)
	if err != nil {
		return Content{}, unreadable(err)
	}
	unpacked, err := gzip.NewReader(plain)
	if err != nil {
		return Content{}, unreadable(err)
	}
	content, err := readAll(unpacked, begin)
	if err != nil {
		return content, unreadable(err)
	}
	return content, nil
}

// causeOf is what the system says, without a path.
func causeOf(err error) error {
	if code := syscall.Errno(0); errors.As(err, &code) {
		return code
	}
	return err
}

func ignore(err, expected error) error {
	if errors.Is(err, expected) {
		return nil
	}
	return err
}

// unwritable gives an error of the disk its meaning.
func unwritable(path string, err error) error {
	if err == nil {
		return nil
	}
	var known *fleet.Error
	if errors.As(err, &known) {
		return err
	}
	hint := "Look whether the folder is there and the user that runs this may write to it."
	switch {
	case errors.Is(err, syscall.ENOSPC), errors.Is(err, syscall.EDQUOT), errors.Is(err, syscall.EFBIG):
		hint = "Make room there, or name a file on another disk."
	case !errors.As(err, new(*fs.PathError)) && !errors.As(err, new(*os.LinkError)):
		return err
	}
	return &fleet.Error{Code: fleet.CodeUnavailable, Message: "the backup cannot be written: " + causeOf(err).Error(),
		Hint: "It was to be " + path + ". " + hint + " No backup was made; those that are there stay.", Err: err}
}
