package auth

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"muster/internal/fleet"
)

const (
	// AdminTokenFile is the name of the file in the server's home that holds the first administrator's token.
	AdminTokenFile = "admin-token"

	adminTokenName = "admin-token"
)

// EnsureAdminToken creates the first administrator's token if the store has no token at all, and reports whether it
// did. It writes the token to <home>/admin-token, readable only by the server's user. If the file already exists,
// because only the database was replaced, its token is used and stays valid.
//
// The file is written before the store. After a crash in between, the next start uses the token in the file.
func EnsureAdminToken(ctx context.Context, store TokenStore, home string) (created bool, err error) {
	tokens, err := store.Tokens(ctx)
	if err != nil {
		return false, fmt.Errorf("read tokens: %w", err)
	}
	if len(tokens) > 0 {
		return false, nil
	}
	path := filepath.Join(home, AdminTokenFile)
	secret, err := readSecret(path)
	if err != nil {
		return false, homeUnusable("read", err)
	}
	if secret == "" {
		secret = newSecret()
		if err := writeSecret(path, secret); err != nil {
			return false, homeUnusable("write", err)
		}
	}
	if err := store.CreateToken(ctx, newToken(adminTokenName, fleet.RoleAdmin, secret)); err != nil {
		return false, fmt.Errorf("keep the administrator's token: %w", err)
	}
	return true, nil
}

// RenewAdminToken creates a new administrator's token and writes it to <home>/admin-token. It is for a person who can
// write the home directory and has lost their token. The old token of this name is revoked; all others stay.
func RenewAdminToken(ctx context.Context, store TokenStore, home string) (created bool, err error) {
	secret := newSecret()
	if err := writeSecret(filepath.Join(home, AdminTokenFile), secret); err != nil {
		return false, homeUnusable("write", err)
	}
	if err := store.DeleteToken(ctx, adminTokenName); err != nil && fleet.CodeOf(err) != fleet.CodeNotFound {
		return false, fmt.Errorf("revoke the last administrator's token: %w", err)
	}
	if err := store.CreateToken(ctx, newToken(adminTokenName, fleet.RoleAdmin, secret)); err != nil {
		return false, fmt.Errorf("keep the administrator's token: %w", err)
	}
	return true, nil
}

func homeUnusable(what string, err error) error {
	return &fleet.Error{
		Code: fleet.CodeUnavailable, Message: "cannot " + what + " " + AdminTokenFile + " in the home folder: " +
			err.Error(),
		Hint: "Look whether the folder belongs to the user that runs Muster and its disk has room, or give another one " +
			"with --home.", Err: err,
	}
}

// readSecret returns the token in the file, or "" if there is no file or it holds no token. It makes the file
// unreadable for other users.
func readSecret(path string) (string, error) {
	content, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return "", nil
	}
	if err != nil {
		return "", err
	}
	secret := strings.TrimSpace(string(content))
	if !wellFormed(secret) {
		return "", nil
	}
	return secret, os.Chmod(path, 0o600)
}

// writeSecret writes a secret to the file at path, readable only by the server's user. After an error the file is as it
// was before.
func writeSecret(path, secret string) error {
	f, err := os.CreateTemp(filepath.Dir(path), filepath.Base(path)+".*") // made with 0600
	if err != nil {
		return err
	}
	defer func() { _ = os.Remove(f.Name()) }() // The file is gone already after a rename that succeeded.
	if _, err := f.WriteString(secret + "\n"); err != nil {
		return errors.Join(err, f.Close())
	}
	if err := f.Sync(); err != nil {
		return errors.Join(err, f.Close())
	}
	if err := f.Close(); err != nil {
		return err
	}
	return os.Rename(f.Name(), path)
}
