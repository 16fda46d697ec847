package httpapi

import (
	"muster/internal/adapter/store"
	"muster/internal/edge/auth"
)

// The store stands behind these interfaces as it is.
var (
	_ Registry        = (*store.Store)(nil)
	_ Settings        = (*store.Store)(nil)
	_ Tokens          = (*auth.Tokens)(nil)
	_ auth.TokenStore = (*store.Store)(nil)
	_ Authenticator   = (*auth.Authenticator)(nil)
)
