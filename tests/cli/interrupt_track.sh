# Sends Ctrl-C to tracking in its middle, with the options given, and says what it left.
python3 $HERE/phantom.py dwi
set -m  # else bash makes a command in the background ignore Ctrl-C
penstock track dwi.nii -o a.tck --seeds 1000000000 --chunk-seeds 500 --sphere 100 --threads 1 --quiet "$@" > /dev/null &
track=$!
for i in $(seq 1000); do  # as soon as points of the first chunks are there
  [ -n "$(find . -name '*.tmp' -size +200k)" ] && break
  sleep 0.01
done
kill -INT $track
wait $track 2>/dev/null
echo "exit code $?: $(echo $(ls -A))"
