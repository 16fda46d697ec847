package httpapi

import (
	"muster/internal/auth"
	"muster/internal/store"
)

// The store stands behind these interfaces as it is.
var (
	_ Registry        = (*store.Store)(nil)
	_ Devices         = (*store.Store)(nil)
	_ Templates       = (*store.Store)(nil)
	_ Tags            = (*store.Store)(nil)
	_ Settings        = (*store.Store)(nil)
	_ Tokens          = (*auth.Tokens)(nil)
	_ auth.TokenStore = (*store.Store)(nil)
	_ Authenticator   = (*auth.Authenticator)(nil)
)
