// Every name a rule or a scan knows must match here, or the rule never gets to see it.
const words =
  /\b(?:rm|find|dd|tee|cp|mv|install|shred|chmod|chown|chgrp|wipefs|blkdiscard|mkfs|mke2fs|mkswap|newfs|setfacl|srm|rimraf|truncate|rsync|parted|sgdisk|sfdisk|nvme|hdparm|badblocks|cryptsetup|mdadm|pvcreate|pvremove|vgremove|lvremove|mkdosfs|mkntfs|mkexfatfs|mkudffs|mkhfsfs|busctl|dbus-send|gdbus|kexec|shutdown|reboot|poweroff|halt|init|telinit|systemctl|loginctl)\b|\bnewfs_|\/dev\/|sysrq/;
const functionHead = /\(\s*\)|\bfunction\b/;
const spawning = /[|&]/;

/** False when no rule can apply to the text, so that it need not be parsed. Quotes and backslashes inside a word do not hide it. */
export function mayMatter(text: string): boolean {
  if (words.test(text)) return true;
  const bare = text.replace(/\\\n|["'\\]+/g, "");
  return words.test(bare) || (functionHead.test(bare) && spawning.test(bare));
}
