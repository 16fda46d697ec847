package httpapi

import (
	"context"
	"net/http"
	"net/url"
	"reflect"
	"strings"

	"muster/api"
	"muster/internal/edge/auth"
	"muster/internal/fleet"
)

// Users makes, changes and deletes users; see auth.People.
type Users interface {
	Users(ctx context.Context) ([]fleet.User, error)
	User(ctx context.Context, name string) (fleet.User, error)
	CreateUser(ctx context.Context, wanted fleet.User, password string) (fleet.User, error)
	PutUser(ctx context.Context, put fleet.PutUser, password string) (fleet.User, error)
	DeleteUser(ctx context.Context, name string) error
}

// Accounts locks users out, and lets them in again.
type Accounts interface {
	DisableUser(ctx context.Context, name string) (fleet.User, error)
	EnableUser(ctx context.Context, name string) (fleet.User, error)
}

// UserHandlers manage users.
type UserHandlers struct {
	*base
	Users    Users
	Accounts Accounts // Set where Users is.
}

func (s UserHandlers) routes(b *base) []route {
	s.base = b
	const all, one, disabled = Prefix + "/users", Prefix + "/users/{user}", Prefix + "/users/{user}/disabled"
	user := reflect.TypeFor[api.User]()
	routes := []route{
		{method: http.MethodGet, path: all, name: "listUsers", summary: "All users by name",
			reply: reflect.TypeFor[[]api.User](), handle: s.listUsers},
		{method: http.MethodPost, path: all, name: "createUser", summary: "Create a user",
			body: reflect.TypeFor[api.CreateUser](), reply: user, creates: true, onlyCreates: true,
			conflicts: true, handle: s.createUser},
		{method: http.MethodGet, path: one, name: "getUser", summary: "A user", reply: user, handle: s.getUser},
		{method: http.MethodPut, path: one, name: "putUser",
			summary: "Change a user's role, tag scope or password; each ends the user's sessions",
			body:    reflect.TypeFor[api.PutUser](), reply: user, conflicts: true, handle: s.putUser},
		{method: http.MethodDelete, path: one, name: "deleteUser", summary: "Delete a user and end the user's sessions",
			conflicts: true, handle: s.deleteUser},
		{method: http.MethodPut, path: disabled, name: "disableUser",
			summary: "Disable a user: every session ends, and no log-in works, by single sign-on neither", reply: user,
			conflicts: true, handle: s.disableUser},
		{method: http.MethodDelete, path: disabled, name: "enableUser", summary: "Enable a user that is disabled",
			reply: user, conflicts: true, handle: s.enableUser},
	}
	for i := range routes {
		routes[i].permission, routes[i].off = auth.ManageUsers, s.Users == nil
	}
	return routes
}

func (s UserHandlers) listUsers(r *request) (reply, error) {
	users, err := s.Users.Users(r.Context())
	if err != nil {
		return reply{}, err
	}
	return show(mapped(users, wireUser))
}

func (s UserHandlers) createUser(r *request) (reply, error) {
	body, err := decode[api.CreateUser](r, "name", "role")
	if err != nil {
		return reply{}, err
	}
	role, err := fleet.ParseRole(*body.Role)
	if err != nil {
		return reply{}, err
	}
	scope, err := newScope(body.Tags)
	if err != nil {
		return reply{}, err
	}
	user, err := s.Users.CreateUser(r.Context(), fleet.User{Name: *body.Name, Role: role, Scope: scope},
		or(body.Password, ""))
	if err != nil {
		return reply{}, err
	}
	return showCreated(wireUser(user), true, Prefix+"/users/"+url.PathEscape(user.Name))
}

func (s UserHandlers) getUser(r *request) (reply, error) {
	name := r.segment("user")
	user, err := s.Users.User(r.Context(), name)
	if err != nil {
		return reply{}, orNotFound(err, noUser(name))
	}
	return show(wireUser(user))
}

func (s UserHandlers) putUser(r *request) (reply, error) {
	name := r.segment("user")
	body, err := decode[api.PutUser](r)
	if err != nil {
		return reply{}, err
	}
	if body.Role == nil && body.Tags == nil && body.Password == nil {
		return reply{}, noChange("role", "tags", "password")
	}
	put := fleet.PutUser{Name: name}
	if body.Role != nil {
		role, err := fleet.ParseRole(*body.Role)
		if err != nil {
			return reply{}, err
		}
		put.Role = &role
	}
	if body.Tags != nil {
		scope, err := scopeOf(*body.Tags)
		if err != nil {
			return reply{}, err
		}
		put.Scope = &scope
	}
	user, err := s.Users.PutUser(r.Context(), put, or(body.Password, ""))
	if err != nil {
		return reply{}, orNotFound(err, noUser(name))
	}
	return show(wireUser(user))
}

func (s UserHandlers) deleteUser(r *request) (reply, error) {
	name := r.segment("user")
	return nothing(orNotFound(s.Users.DeleteUser(r.Context(), name), noUser(name)))
}

func (s UserHandlers) disableUser(r *request) (reply, error) {
	return switchedUser(r, s.Accounts.DisableUser)
}

func (s UserHandlers) enableUser(r *request) (reply, error) {
	return switchedUser(r, s.Accounts.EnableUser)
}

func switchedUser(r *request, to func(context.Context, string) (fleet.User, error)) (reply, error) {
	name := r.segment("user")
	user, err := to(r.Context(), name)
	if err != nil {
		return reply{}, orNotFound(err, noUser(name))
	}
	return show(wireUser(user))
}

// noChange is the error of a body that has none of the fields that it may have.
func noChange(fields ...string) *fleet.Error {
	return &fleet.Error{Code: fleet.CodeInvalid, Message: "this changes nothing",
		Hint: "Give at least one of " + strings.Join(fields, ", ") + "."}
}

func noUser(name string) *fleet.Error {
	return notThere(fleet.SeeUsers, "GET "+Prefix+"/users lists all.", "there is no user %q", name)
}

func wireUser(user fleet.User) api.User {
	out := api.User{
		Name: user.Name, Role: string(user.Role), Tags: wireTags(user.Scope.Tags()), HasPassword: user.Password != "",
		CreatedAt: api.Time{Time: user.CreatedAt}, UpdatedAt: api.Time{Time: user.UpdatedAt},
	}
	if user.Identity != (fleet.Identity{}) {
		out.SignOn = &api.Identity{Issuer: user.Identity.Issuer, Subject: user.Identity.Subject}
	}
	if !user.LastLogInAt.IsZero() {
		out.LastLoginAt = &api.Time{Time: user.LastLogInAt}
	}
	if user.Disabled() {
		out.DisabledAt = &api.Time{Time: user.DisabledAt}
	}
	return out
}
