/** Users as other objects show them: the creator of a flag, the last editor of a survey. */
import { findUser } from '../../projects/users/user.ts'
import type { AppContext } from '../app-context.ts'

/** Returns a user in short; null for null and for deleted users. Reads the database once per user. */
export type FindAuthor = (user_id: number | null) => object | null

/** Creates a lookup of users for one request. */
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
