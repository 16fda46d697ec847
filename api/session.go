package api

// Login is the body of a POST to log in.
type Login struct {
	UserID   *string `json:"userid" doc:"Name of the user"`
	Password *string `json:"password" doc:"Of the user"`
	Browser  bool    `json:"browser,omitempty" required:"false" doc:"For pages: the session is a cookie and a half, and no token"`
}

// ExchangeCode is the body of a POST that asks for the session of a log-in by a page.
type ExchangeCode struct {
	Code *string `json:"code" doc:"As the page has it; it works once, for a minute"`
}

// CreateTicket is the body of a POST of a ticket.
type CreateTicket struct {
	Path *string `json:"path" doc:"To be downloaded, with its query: it begins with /api/v1/"`
}

// Ticket is the one answer that shows a ticket.
type Ticket struct {
	Path      string `json:"path" doc:"With the ticket; a browser opens it once"`
	ExpiresAt Time   `json:"expiresAt" format:"date-time" doc:"From then on it counts no more"`
}

// LoginMethods say how people log in to a server.
type LoginMethods struct {
	Password     bool          `json:"password" doc:"POST login takes a name and a password"`
	SingleSignOn *SingleSignOn `json:"singleSignOn,omitempty" doc:"Missing where the server has no single sign-on"`
}

// SingleSignOn is how people log in who have an account at the provider.
type SingleSignOn struct {
	Name string `json:"name" doc:"Of the provider, for people"`
	Path string `json:"path" doc:"To be opened in a browser"`

	Device bool `json:"device" doc:"The provider supports the device code flow: POST login/device"`
	Away   bool `json:"away" doc:"The provider did not answer when Muster last asked it: nobody can log in with it now"`
}

// DeviceLogin is the one answer that shows the handle of a log-in that a program began.
type DeviceLogin struct {
	Handle    string `json:"handle" doc:"Ends the log-in; keep it secret"`
	UserCode  string `json:"userCode" doc:"Code that a person types at url"`
	URL       string `json:"url" doc:"Page on which the person types userCode"`
	DirectURL string `json:"directURL" doc:"Page on which userCode is filled in already; blank: the provider has no such page"`
	IntervalS int    `json:"intervalS" doc:"Seconds to wait between two polls"`
	ExpiresAt Time   `json:"expiresAt" format:"date-time" doc:"From then on it counts no more"`
}

// EndDeviceLogin is the body of a POST that asks for the session.
type EndDeviceLogin struct {
	Handle *string `json:"handle" doc:"That the log-in was begun with"`
}

// DeviceSession is the session of a program, once a person has answered.
type DeviceSession struct {
	User      string      `json:"user" doc:"Blank until a person has logged in with the code"`
	Session   *NewSession `json:"session,omitempty" doc:"Missing until the person has answered"`
	IntervalS int         `json:"intervalS" doc:"Seconds to wait before the next poll; 0: the log-in is over"`
}

// NewSession is the one answer that shows the token of a program's session, or the half of a browser's.
type NewSession struct {
	Token     string `json:"token" doc:"Shown once; send it as Authorization: Bearer or X-API-Key. Blank for a browser"`
	Half      string `json:"half" doc:"Shown once; send it as Muster-Session beside the cookie. Blank for a program"`
	ExpiresAt Time   `json:"expiresAt" format:"date-time" doc:"When the session ends at the latest; a session that is not used ends earlier"`
}

// Session is a log-in of a user that has not ended.
type Session struct {
	ID         string `json:"id" doc:"Names the session; it opens nothing"`
	User       string `json:"user" doc:"Name of the user"`
	CreatedAt  Time   `json:"createdAt" format:"date-time" doc:"When the person logged in"`
	LastUsedAt Time   `json:"lastUsedAt" format:"date-time" doc:"Exact to a minute"`
	ExpiresAt  Time   `json:"expiresAt" format:"date-time" doc:"When the session ends at the latest"`
	Address    string `json:"address" doc:"Of the client that logged in"`
	Client     string `json:"client" doc:"What that client calls itself"`
	Current    bool   `json:"current" doc:"This request uses the session"`
}

// Whoami says whose credential a request carries.
type Whoami struct {
	Name       string `json:"name" doc:"Of the user or the token"`
	Role       string `json:"role" enum:"viewer,operator,author,admin" doc:"What its bearer may do"`
	Credential string `json:"credential" enum:"token,session,cookie" doc:"With what the caller proved who it is"`
	ExpiresAt  *Time  `json:"expiresAt" format:"date-time" doc:"Of the session; null for a token"`
}

// CreateLoginLink is the body of a POST of a log-in link.
type CreateLoginLink struct {
	User       *string `json:"user,omitempty" required:"false" doc:"Whose password the link sets; without one it makes a new administrator"`
	ExpiresInS *int64  `json:"expiresInS,omitempty" minimum:"1" doc:"Seconds until it expires, at most a day, and 15 minutes for the link of an administrator. Missing: 15 minutes"`
}

// LoginLink is the one answer that shows the code of a log-in link.
type LoginLink struct {
	Path      string `json:"path" doc:"To be opened at the server's address, once"`
	User      string `json:"user" doc:"Blank: the link makes a new administrator"`
	ExpiresAt Time   `json:"expiresAt" format:"date-time" doc:"From then on it counts no more"`
}
