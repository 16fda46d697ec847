// Package logkey defines the attribute names of log lines, so that a thing has the same name in every line. Any
// package may import it.
package logkey

import "log/slog"

const (
	Component = "component"
	Device    = "device"
	Folder    = "folder"
	Template  = "template"
	Revision  = "revision"
	Intent    = "intent"
	Address   = "address"
	Count     = "count"
	Step      = "step"
	Took      = "took"
	Method    = "method"
	Path      = "path"
	Status    = "status"
	Reason    = "reason"
	BackupAt  = "backupAt"
	Token     = "token"   // its name
	SealKey   = "sealKey" // its ID
	Next      = "next"
	Part      = "part"
	Limit     = "limit"
	Proof     = "proof" // its name

	Fingerprint = "fingerprint" // SHA-256 of a certificate
	Until       = "until"

	InForce    = "inForce"
	NotInForce = "notInForce"
)

// Err returns the attribute of an error.
func Err(err error) slog.Attr { return slog.Any("err", err) }
