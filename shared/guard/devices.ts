import { plainPath } from "./paths.ts";

// A disk by its name in Linux, macOS or the BSDs, whole or a partition; also one only half named (`sd*`, `sd$x`).
const disk =
  /^\/dev\/(?:(?:sd|hd|vd|xvd|ubd)(?:[a-z]{1,3}\d*)?[\uFDD0\uFDD2\uFDD3]?$|(?:nvme|mmcblk|md|dm-|nbd|bcache|pmem|zd|r?disk|ada|da|nda)[\d\uFDD0\uFDD2\uFDD3]|(?:mapper\/(?!control$)|disk\/|md\/|block\/).)/;
const memory = /^\/dev\/(?:mem|kmem|port)$/;

/** Whether writing to the path overwrites a disk or the memory of the machine. */
export function isRawDevice(path: string): boolean {
  const plain = plainPath(path);
  return plain !== undefined && (disk.test(plain) || memory.test(plain));
}
