/** The browser's entry: draws the interface into the page. */
import { render } from 'preact'
import { onApiError } from './api/calls/call.ts'
import { App } from './app.tsx'
import { noteConnection } from './state/connection.ts'
import { listenForKeys } from './state/keys.ts'
import { watchSession } from './state/session.ts'
import { applyTheme } from './state/theme.ts'

applyTheme()
watchSession()
onApiError(noteConnection)
listenForKeys()
const root = document.getElementById('app')
if (root !== null) render(<App />, root)
