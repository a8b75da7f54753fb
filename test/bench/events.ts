/** Events as a web shop would send them: about 800 bytes, twenty properties, the same ones for the same seed. */

/** A small seeded generator (mulberry32): numbers in [0, 1). */
export function seeded(seed: number): () => number {
  let state = seed
  return () => {
    state = (state + 0x6d2b79f5) | 0
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state)
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 4294967296
  }
}

const pick = <T>(random: () => number, choices: readonly [T, ...T[]]): T =>
  choices[Math.floor(random() * choices.length)] ?? choices[0]

export type SentEvent = {
  readonly event: string
  readonly distinct_id: string
  readonly timestamp: string
  readonly properties: Readonly<Record<string, string | number | boolean>>
}

/** One event of one of the given number of persons, some time in the thirty days before 2026-11-01. */
export function someEvent(random: () => number, persons: number): SentEvent {
  const plan = pick(random, ['free', 'basic', 'pro', 'enterprise'])
  const path = pick(random, ['/', '/pricing', '/docs', '/blog/one', '/checkout', '/account'])
  return {
    event: pick(random, ['$pageview', '$pageview', '$autocapture', 'order placed', 'signed up']),
    distinct_id: `user-${Math.floor(random() * persons)}`,
    timestamp: new Date(
      Date.UTC(2026, 9, 2) + Math.floor(random() * 30 * 86_400_000),
    ).toISOString(),
    properties: {
      $browser: pick(random, ['Chrome', 'Safari', 'Firefox', 'Edge']),
      $browser_version: 100 + Math.floor(random() * 40),
      $os: pick(random, ['Mac OS X', 'Windows', 'Linux', 'iOS', 'Android']),
      $device_type: pick(random, ['Desktop', 'Mobile']),
      $current_url: `https://shop.example${path}?ref=${Math.floor(random() * 1000)}`,
      $pathname: path,
      $host: 'shop.example',
      $referrer: pick(random, ['$direct', 'https://search.example/', 'https://news.example/a']),
      $lib: 'web',
      $lib_version: '1.261.8',
      $screen_width: 1280 + Math.floor(random() * 5) * 160,
      $screen_height: 720 + Math.floor(random() * 5) * 90,
      $session_id: `0199${Math.floor(random() * 1e12)
        .toString(16)
        .padStart(12, '0')}`,
      $insert_id: Math.floor(random() * 1e15).toString(36),
      plan,
      price: Math.round(random() * 20_000) / 100,
      quantity: 1 + Math.floor(random() * 5),
      coupon: random() < 0.1,
      category: pick(random, ['books', 'music', 'garden', 'kitchen', 'tools']),
      campaign: pick(random, ['spring', 'summer', 'autumn', 'none']),
    },
  }
}
