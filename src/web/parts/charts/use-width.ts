/** The width of an element, as the page lays it out. */
import type { RefObject } from 'preact'
import { useEffect, useRef, useState } from 'preact/hooks'

/** Returns a ref for the element, and its width in whole px; 0 before the first layout. */
export function useWidth<Kind extends HTMLElement>(): readonly [RefObject<Kind>, number] {
  const element = useRef<Kind>(null)
  const [width, setWidth] = useState(0)
  useEffect(() => {
    if (element.current === null) return undefined
    const observer = new ResizeObserver(([entry]) => {
      if (entry !== undefined) setWidth(Math.floor(entry.contentRect.width))
    })
    observer.observe(element.current)
    return () => observer.disconnect()
  }, [])
  return [element, width]
}
