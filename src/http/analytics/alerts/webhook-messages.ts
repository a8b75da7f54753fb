/** Posts messages of alerts and subscriptions to webhooks, with the address checks of destinations. */
import { errorMessage } from '../../../error-message.ts'
import { type PostResult, postWebhook } from '../../../plugins/webhook.ts'
import type { AppContext } from '../../app-context.ts'

/**
 * Sends a message as JSON, once. Never rejects. The name is resolved and checked each time: its address may have changed
 * (DNS rebinding).
 */
export async function postMessage(
  { addresses }: Pick<AppContext, 'addresses'>,
  address: string,
  message: object,
): Promise<PostResult> {
  try {
    const to = await addresses.resolve(new URL(address))
    return await postWebhook({ to, headers: {}, secret: null, body: JSON.stringify(message) })
  } catch (error) {
    return { kind: 'failed', reason: errorMessage(error) }
  }
}
