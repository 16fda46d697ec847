// Package logkey names the attributes of log lines, so that one thing has one name in every line. Any room may import
// it.
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

	Fingerprint = "fingerprint" // of a certificate
	Until       = "until"

	InForce    = "inForce"
	NotInForce = "notInForce"
)

// Err is the attribute of an error.
func Err(err error) slog.Attr { return slog.Any("err", err) }
