/** People as they are named in other things: who made a flag, who changed a survey. */
import { findUser } from '../../projects/user.ts'
import type { AppContext } from '../app-context.ts'

/** Tells who a user is; null for nobody and for users that are gone. Asks the database once per user. */
export type FindAuthor = (user_id: number | null) => object | null

/** Names authors during one request. */
export function authorFinder(app: AppContext): FindAuthor {
  const stored = new Map<number, object | null>()
  return (user_id) => {
    if (user_id === null) return null
    const before = stored.get(user_id)
    if (before !== undefined) return before
    const user = findUser(app.control, user_id)
    const author = user && {
      id: user.id,
      uuid: user.uuid,
      distinct_id: user.distinct_id,
      first_name: user.first_name,
      last_name: user.last_name,
      email: user.email ?? '',
      is_email_verified: null,
      hedgehog_config: null,
    }
    stored.set(user_id, author)
    return author
  }
}
