/** Frames come out of a pipe as they went in, however the pipe cuts them. */
import { describe, expect, test } from 'bun:test'
import { array, assert, integer, nat, property, record, string, uint8Array } from 'fast-check'
import {
  encodeFrame,
  encodeMessage,
  frameReader,
  messageReader,
  type ToQueryProcess,
} from '../../../src/query/engine/protocol.ts'

describe('frames', () => {
  test('survive any cutting of the byte stream', () => {
    const frame = record({
      head: record({ kind: string(), id: nat() }),
      rest: uint8Array({ maxLength: 300 }),
    })
    assert(
      property(array(frame), array(integer({ min: 1, max: 50 })), (frames, cuts) => {
        const stream = Buffer.concat(frames.flatMap(({ head, rest }) => encodeFrame(head, [rest])))
        const read = frameReader<object>()
        const heard = piecesOf(stream, cuts).flatMap((piece) => [...read(piece)])
        expect(heard.map(({ head, rest }) => ({ head, rest: [...rest] }))).toEqual(
          frames.map(({ head, rest }) => ({ head, rest: [...rest] })),
        )
      }),
    )
  })
})

test('a query comes out with its values, long ones too', () => {
  const texts = ['short', 'é'.repeat(70_000), `\ud800${'x'.repeat(70_000)}`, 'y'.repeat(70_000), '']
  const values = [{ type: 'DATE', text: null }, ...texts.map((text) => ({ type: 'VARCHAR', text }))]
  const query = {
    project_id: 1,
    sql: 'SELECT 1',
    values,
    types: ['UInt8'],
    reads: { events: [], tables: [] },
    timezone: 'UTC',
    rows_max: 1,
    more_is_too_many: false,
  }
  const sent = [
    { kind: 'ask', id: 1, query },
    { kind: 'interrupt', id: 1 },
  ] as unknown as readonly ToQueryProcess[]
  const stream = Buffer.concat(sent.flatMap((message) => encodeMessage(message)))
  const read = messageReader()
  expect(piecesOf(stream, [1000, 7]).flatMap((piece) => [...read(piece)])).toEqual([...sent])
})

/** The stream in pieces of the given lengths, over and over. */
function piecesOf(stream: Uint8Array, lengths: readonly number[]): Uint8Array[] {
  const pieces: Uint8Array[] = []
  for (let at = 0, turn = 0; at < stream.length; turn++) {
    const length = lengths[turn % lengths.length] ?? stream.length
    pieces.push(stream.subarray(at, at + length))
    at += length
  }
  return pieces
}
