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

// Source provides the content of a backup.
type Source struct {
	Muster string // version of Muster
	Now    time.Time
	Lock   Lock
	// Dump writes the content of the database, all of it as of one moment.
	Dump func(Sink) error
	// Files returns the files of the home directory. It is called after Dump has fixed its moment.
	Files func() ([]File, error)
	// Check returns a Sink that checks the content of the backup when it is read back.
	Check func(Content) (Sink, error)
	// Tell reports progress; nil: progress is not reported.
	Tell func(Progress)
}

// Made is a backup that was written and read back.
type Made struct {
	Path      string
	Bytes     int64
	CreatedAt time.Time
}

const bufferBytes = 256 << 10

// Create writes a backup to path and reads it back. The file appears complete or not at all. Create does not overwrite
// an existing file.
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

// tempPrefix is the prefix of the names of files that are not complete.
const tempPrefix = ".muster-backup-"

// write writes the file and counts its rows.
func (s Source) write(temp *os.File) (age.Identity, int, error) {
	buffer := bufio.NewWriterSize(temp, bufferBytes)
	encrypted, identity, err := s.Lock.encrypt(buffer)
	if err != nil {
		return nil, 0, err
	}
	// Most of the content is encrypted and cannot be compressed further.
	packed, err := gzip.NewWriterLevel(encrypted, gzip.BestSpeed)
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

// readBack reads the whole file and checks its content.
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

// place renames the temporary file to path, and syncs the folder so that the name survives a crash.
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

// Read reads a whole backup. It calls begin with the content before the tables; begin returns the Sink for the tables.
// The rows are valid only when Read returns without an error.
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

// causeOf returns the system's error without the path.
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

// unwritable turns an error of the disk into a *fleet.Error.
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
