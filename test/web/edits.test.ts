/** What the pages send after edits, without a browser: a restored tile, a changed alert. */
import { describe, expect, test } from 'bun:test'
import type { AlertFields } from '../../src/web/api/types/alert-fields.ts'
import { changesOf, inputOf } from '../../src/web/pages/alerts/alert-input.ts'
import { restoreTile } from '../../src/web/pages/boards/restore-tile.ts'

describe('a restored tile', () => {
  /** A tile of the insight with that number; a new one has the width that every tile begins with. */
  const tileOf = (id: number, insight: number, w = 6) => ({
    id,
    text: null,
    insight: { id: insight },
    layouts: { w },
  })
  type Tile = ReturnType<typeof tileOf>
  const shown = (tiles: readonly Tile[]) => tiles.map(({ id, layouts }) => [id, layouts.w])
  const [first, second, third] = [tileOf(1, 10, 12), tileOf(2, 20, 12), tileOf(3, 30, 12)]

  test('is at its old place, in its old size', () => {
    const now = [first, third, tileOf(4, 20)]
    expect(shown(restoreTile([first, second, third], second, now))).toEqual([
      [1, 12],
      [4, 12],
      [3, 12],
    ])
  })

  test('is found beside one that was restored before it, and leaves out those that are gone', () => {
    // The second and the first were removed in this order, and then the first restored as 5.
    const now = [tileOf(5, 10, 12), third, tileOf(6, 20)]
    expect(shown(restoreTile([first, second, third], second, now))).toEqual([
      [6, 12],
      [3, 12],
      [5, 12],
    ])
    expect(shown(restoreTile([first, second], first, [tileOf(7, 10)]))).toEqual([[7, 12]])
  })

  test('does not come back if somebody has removed it again', () => {
    expect(shown(restoreTile([first, second], second, [first]))).toEqual([[1, 12]])
  })
})

describe('a changed alert', () => {
  const alert: AlertFields = {
    name: 'Share',
    condition: { type: 'relative_increase' },
    threshold: { configuration: { type: 'percentage', bounds: { lower: 0.07, upper: 0.29 } } },
    config: { type: 'TrendsAlertConfig', series_index: 0 },
    calculation_interval: 'daily',
    webhook_url: null,
  }

  test('shows percents as people write them', () => {
    expect(inputOf(alert, 7)).toMatchObject({ rule: 'rises', value: '29', is_share: true })
  })

  test('sends what was changed only: bounds that the form does not show stay', () => {
    const input = inputOf(alert, 7)
    expect(changesOf(alert, 7, input)).toEqual({})
    expect(changesOf(alert, 7, { ...input, name: 'Part' })).toEqual({ name: 'Part' })
    expect(changesOf(alert, 7, { ...input, value: '30' })).toEqual({
      threshold: { configuration: { type: 'percentage', bounds: { upper: 0.3 } } },
    })
    expect(changesOf(alert, 7, { ...input, insight: '8', line: '2' })).toEqual({
      insight: 8,
      config: { type: 'TrendsAlertConfig', series_index: 1, check_ongoing_interval: false },
    })
  })
})
